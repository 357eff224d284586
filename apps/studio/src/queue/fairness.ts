/**
 * Start-time fair queueing (Goyal, Vin, Cheng: SFQ, SIGCOMM 1996) with videos of one length: a new video's turn is one after the last of
 * its key, but never before the turn that is being served. Who takes the smallest turn first serves keys round robin, however many each
 * of them queues, and a key that was idle has no credit.
 */
export function nextTurn(served: number, lastOfOwner: number): number {
  return Math.max(served, lastOfOwner) + 1;
}

/** A clock that stands until it is told to go on. */
export class FakeClock {
  us = 0;
  readonly now = (): number => this.us;
  advance(us: number): void {
    this.us += us;
  }
}

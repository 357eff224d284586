import { Agent, get } from "node:http";

// Opens many connections that listen to events, in a process of its own, so that reading them does not delay the calls that are timed.
const [url, count] = process.argv.slice(2) as [string, string];
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
let numEvents = 0;
let numOpen = 0;
for (let i = 0; i < Number(count); i++) {
  get(new URL("v1/events", url), { agent }, (response) => {
    if (response.statusCode === 200) numOpen++;
    response.on("data", (part: Buffer) => {
      for (let at = part.indexOf("event: "); at !== -1; at = part.indexOf("event: ", at + 1)) numEvents++;
    });
    response.on("close", () => numOpen--);
  }).on("error", () => {});
}
process.on("message", () => process.send!({ numOpen, numEvents }));
process.on("disconnect", () => process.exit());

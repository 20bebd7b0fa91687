import { readConfig } from "./config.ts";
import { startDemoSite } from "./site.ts";

const site = await startDemoSite(readConfig());
console.log(`The sample shop is at ${site.url}`);
// An IPC channel alone would keep the process.
const close = () => void site.close().then(() => process.exit(0));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, close);
// Whoever started it with an IPC channel is gone; false when that was before we could listen.
process.once("disconnect", close);
if (process.connected === false) close();

import { readConfig } from "./config.ts";
import { startSampleShop } from "./shop.ts";

const shop = await startSampleShop(readConfig());
console.log(`The sample shop is at ${shop.url}`);
// Exits explicitly, because an open IPC channel keeps the process alive.
const close = () => void shop.close().then(() => process.exit(0));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, close);
// Stops when the parent process is gone. `connected` is false when the parent exited before this line.
process.once("disconnect", close);
if (process.connected === false) close();

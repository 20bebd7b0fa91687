export { MultiplexClient } from "./multiplex-client.ts";
export { serveMultiplexed } from "./multiplex-server.ts";

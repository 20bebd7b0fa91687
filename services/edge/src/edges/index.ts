export { createEdgeClients, type EdgeClients, TAKEOVER_TIMEOUT_MS } from "./edges.client.ts";

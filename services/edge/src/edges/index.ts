export { createEdgeClients, type EdgeClients } from "./edges.client.ts";

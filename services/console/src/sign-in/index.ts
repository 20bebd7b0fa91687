export { type Authenticate, createCallHook, type ReadSessionInfo } from "./authenticate.ts";
export { readAgent, type SessionInfo } from "./session.ts";

export { type Authenticate, createCallHook, type ReadSessionInfo } from "./authenticate.ts";
export type { SessionInfo } from "./session.ts";

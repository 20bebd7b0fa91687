export { type Authenticate, createCallHook } from "./authenticate.ts";

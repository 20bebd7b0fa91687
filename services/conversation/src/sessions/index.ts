export { eraseSession } from "./erase-session.store.ts";
export { sessionNotFound } from "./session-not-found.ts";

export { forgetAgents } from "./agents.store.ts";
export { readContactMessage } from "./contact-messages.store.ts";
export { createHandoffMetrics, type HandoffMetrics, registerHandoffGauges } from "./handoff.metrics.ts";
export { createHandoffHandlers } from "./handoff.rpc.ts";
export { type Change, readHandoffOfTurn } from "./handoff.store.ts";
export { expireHandoffs } from "./handoff.worker.ts";
export { type HandoffMessage, listHandoffMessages, toHandoffMessageRecord } from "./handoff-messages.store.ts";
export { ANSWER_WITHIN, handoffSql, type StoredHandoff, toAgent, toHandoffMessage } from "./handoff-state.store.ts";
export { applyRequestRule, askForPerson, canRequestHandoff, type RequestDeps } from "./request-handoff.service.ts";

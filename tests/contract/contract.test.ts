import { afterAll, beforeAll, describe } from "vitest";
import { authSuite } from "./suites/auth.ts";
import { challengeSuite } from "./suites/challenge.ts";
import { consentSuite } from "./suites/consent.ts";
import { contactMessagesSuite } from "./suites/contact-messages.ts";
import { conversationsSuite } from "./suites/conversations.ts";
import { corsSuite } from "./suites/cors.ts";
import { descriptionSuite } from "./suites/description.ts";
import { doctorSuite } from "./suites/doctor.ts";
import { errorFieldSuite } from "./suites/error-field.ts";
import { exportSuite } from "./suites/export.ts";
import { handoffSuite } from "./suites/handoff.ts";
import { historySuite } from "./suites/history.ts";
import { keyAndOriginSuite } from "./suites/key-and-origin.ts";
import { keyedRepliesSuite } from "./suites/keyed-replies.ts";
import { limitsSuite } from "./suites/limits.ts";
import { outagesSuite } from "./suites/outages.ts";
import { quotaSuite } from "./suites/quota.ts";
import { requestSuite } from "./suites/request.ts";
import { requestIdSuite } from "./suites/request-id.ts";
import { schemathesisSuite } from "./suites/schemathesis.ts";
import { sessionsSuite } from "./suites/sessions.ts";
import { sourcesSuite } from "./suites/sources.ts";
import { streamSuite } from "./suites/stream.ts";
import { startTimeoutScenarios, type TimeoutScenarios, timeoutsSuite } from "./suites/timeouts.ts";
import { verifiedVisitorsSuite } from "./suites/verified-visitors.ts";
import { visitorLimitSuite } from "./suites/visitor-limit.ts";
import { visitorsSuite } from "./suites/visitors.ts";
import { type ContractSystem, startContractSystem } from "./support/contract-system.ts";

// All suites share one system, but each has its own tenants and client addresses. To run one suite, pass its name to -t.
let system: ContractSystem;
let timeoutScenarios: TimeoutScenarios;

beforeAll(async () => {
  system = await startContractSystem();
  timeoutScenarios = await startTimeoutScenarios(system);
});
afterAll(() => system?.stop());

const shared = () => system;

describe("requests", () => requestSuite(shared));
describe("error fields", () => errorFieldSuite(shared));
describe("request ids", () => requestIdSuite(shared));
describe("key and origin", () => keyAndOriginSuite(shared));
describe("CORS", () => corsSuite(shared));
describe("streams", () => streamSuite(shared));
describe("replies with an idempotency key", () => keyedRepliesSuite(shared));
describe("sessions", () => sessionsSuite(shared));
describe("visitors", () => visitorsSuite(shared));
describe("verified visitors", () => verifiedVisitorsSuite(shared));
describe("history", () => historySuite(shared));
describe("messages of a visitor in a day", () => visitorLimitSuite(shared));
describe("consent", () => consentSuite(shared));
describe("sources", () => sourcesSuite(shared));
describe("challenges", () => challengeSuite(shared));
describe("people", () => handoffSuite(shared));
describe("contact messages", () => contactMessagesSuite(shared));
describe("export", () => exportSuite(shared));
describe("conversations", () => conversationsSuite(shared));
describe("access tokens", () => authSuite(shared));
describe("rate limits", () => limitsSuite(shared));
describe("quota", () => quotaSuite(shared));
describe("doctor", () => doctorSuite(shared));
describe("schemathesis", () => schemathesisSuite(shared));
describe("timeouts", () => timeoutsSuite(() => timeoutScenarios));
describe("outages", () => outagesSuite(shared));
describe("OpenAPI description", () => descriptionSuite(shared));

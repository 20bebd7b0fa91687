import { afterAll, beforeAll, describe } from "vitest";
import { authSuite } from "./suites/auth.ts";
import { corsSuite } from "./suites/cors.ts";
import { descriptionSuite } from "./suites/description.ts";
import { doctorSuite } from "./suites/doctor.ts";
import { exportSuite } from "./suites/export.ts";
import { keyAndOriginSuite } from "./suites/key-and-origin.ts";
import { limitsSuite } from "./suites/limits.ts";
import { outagesSuite } from "./suites/outages.ts";
import { beginPatience, type Patience, patienceSuite } from "./suites/patience.ts";
import { quotaSuite } from "./suites/quota.ts";
import { requestSuite } from "./suites/request.ts";
import { sessionsSuite } from "./suites/sessions.ts";
import { streamSuite } from "./suites/stream.ts";
import { type Contract, startContract } from "./support/contract.ts";

// One system for all suites: each has tenants and client addresses of its own. Run one of them with -t and its name.
let contract: Contract;
let patience: Patience;

beforeAll(async () => {
  contract = await startContract();
  patience = beginPatience(contract);
});
afterAll(() => contract.stop());

const shared = () => contract;

describe("the request", () => requestSuite(shared));
describe("key and origin", () => keyAndOriginSuite(shared));
describe("CORS", () => corsSuite(shared));
describe("the stream", () => streamSuite(shared));
describe("sessions", () => sessionsSuite(shared));
describe("the export", () => exportSuite(shared));
describe("access tokens", () => authSuite(shared));
describe("rate limits", () => limitsSuite(shared));
describe("the quota", () => quotaSuite(shared));
describe("the doctor", () => doctorSuite(shared));
describe("patience", () => patienceSuite(() => patience));
describe("outages", () => outagesSuite(shared));
describe("the description", () => descriptionSuite(shared));

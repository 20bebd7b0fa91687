import { describeWith } from "@parley/test-support";
import { afterAll, beforeAll, describe, inject } from "vitest";
import { type Stage, startStage } from "./stage.ts";
import { expressionsSuite } from "./suites/expressions.ts";
import { faultsSuite } from "./suites/faults.ts";
import { labelsSuite } from "./suites/labels.ts";
import { rulesSuite, tryCases } from "./suites/rules.ts";

// One system and one Prometheus for all of it: what is asked of a quiet system first, then what is broken.
describeWith("prometheus", "Prometheus watches the running system", () => {
  // They are tried while the system starts.
  let cases: ReturnType<typeof tryCases>;
  beforeAll(() => {
    cases = tryCases();
  });

  describeWith("redis-server", "with Redis", () => {
    let stage: Stage;
    beforeAll(async () => {
      stage = await startStage(inject("postgresUrl"));
    });
    afterAll(() => stage?.stop());

    const shared = () => stage;
    describe("under load", () => expressionsSuite(shared));
    describe("labels", () => labelsSuite(shared));
    describe("faults", () => faultsSuite(shared));
  });
  describe("alerts", () => rulesSuite(() => cases));
});

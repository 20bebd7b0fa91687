import { describeWith } from "@parley/test-support";
import { afterAll, beforeAll, describe, inject } from "vitest";
import { type Fixture, startFixture } from "./fixture.ts";
import { expressionsSuite } from "./suites/expressions.ts";
import { faultsSuite } from "./suites/faults.ts";
import { labelsSuite } from "./suites/labels.ts";
import { rulesSuite, runAlertCases } from "./suites/rules.ts";

// All suites share one system and one Prometheus. The suites without faults run first.
describeWith("prometheus", "Prometheus with a running system", () => {
  // Starts promtool first, so that it runs the cases while the system starts.
  let cases: ReturnType<typeof runAlertCases>;
  beforeAll(() => {
    cases = runAlertCases();
  });

  describeWith("redis-server", "with Redis", () => {
    let fixture: Fixture;
    beforeAll(async () => {
      fixture = await startFixture(inject("postgresUrl"));
    });
    afterAll(() => fixture?.stop());

    const shared = () => fixture;
    describe("expressions", () => expressionsSuite(shared));
    describe("labels", () => labelsSuite(shared));
    describe("faults", () => faultsSuite(shared));
  });
  describe("alerts", () => rulesSuite(() => cases));
});

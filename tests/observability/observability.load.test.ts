import { describeWith } from "@parley/test-support";
import { afterAll, beforeAll, describe, inject } from "vitest";
import { type Fixture, startFixture } from "./fixture.ts";
import { expressionsSuite } from "./suites/expressions.ts";
import { faultsSuite } from "./suites/faults.ts";
import { labelsSuite } from "./suites/labels.ts";
import { rulesSuite, runAlertCases } from "./suites/rules.ts";

// The suites `expressions`, `labels` and `faults` share one system and one Prometheus. `faults` runs after `expressions` and
// `labels`. `alerts` needs only promtool.
describeWith("prometheus", "Prometheus with a running system", () => {
  // Starts promtool first, so that it runs the alerts' test cases while the system starts.
  let caseResult: ReturnType<typeof runAlertCases>;
  beforeAll(() => {
    caseResult = runAlertCases();
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
  describe("alerts", () => rulesSuite(() => caseResult));
});

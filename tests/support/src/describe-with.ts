import { describe } from "vitest";
import { isMet, type Requirement } from "./requirements.ts";

/**
 * A suite that needs what a machine may lack. Where it does, the suite is reported as left out; the global setup says
 * so loudly, or fails the run with PARLEY_REQUIRE_ALL=1.
 */
export function describeWith(
  requirement: Requirement,
  name: string,
  suite: () => void,
  options: { timeout?: number } = {},
): void {
  describe.runIf(isMet(requirement) || process.env.PARLEY_REQUIRE_ALL === "1")(name, options, suite);
}

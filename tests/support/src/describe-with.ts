import { describe } from "vitest";
import { isRequirementMet, type Requirement } from "./requirements.ts";

/**
 * Defines a suite with a requirement that a machine may lack, for example Redis. If the machine lacks it, Vitest skips the suite and the
 * global setup prints a warning. With PARLEY_REQUIRE_ALL=1 the global setup throws instead.
 */
export function describeWith(
  requirement: Requirement,
  name: string,
  suite: () => void,
  options: { timeout?: number } = {},
): void {
  describe.runIf(isRequirementMet(requirement) || process.env.PARLEY_REQUIRE_ALL === "1")(name, options, suite);
}

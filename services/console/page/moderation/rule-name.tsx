import type { Pattern } from "@parley/rpc/conversation";
import { describeRule } from "./words.ts";

/** The words of a rule, or its pattern. */
export function RuleName({ rule }: { rule: Pattern }) {
  return rule.words.length > 0 ? <strong dir="auto">{describeRule(rule)}</strong> : <code>{rule.pattern}</code>;
}

import type { RpcClient } from "@parley/rpc";
import type { LlmService } from "@parley/rpc/llm";
import { cutPage, turnPageTokens } from "@parley/service-kit";
import type { Comparison } from "./reconcile.service.ts";
import { listDoneTurns } from "./turns.store.ts";

const PAGE_SIZE = 1_000;
const LLM_CALL_OPTIONS = { timeoutMs: 10_000, waitForReady: true };

/**
 * Returns a comparison that sends the done turns of a window to the llm-proxy, which adds the rows that its call log lacks. The
 * comparison reports no repairs, because a metric of the llm-proxy counts the added rows.
 */
export function createCallLogComparison(llm: Pick<RpcClient<typeof LlmService>, "fillCallLog">): Comparison {
  return async ({ database }, window, token) => {
    const position = turnPageTokens.parse(token);
    const { turns, until } = await listDoneTurns(database, window, { position, limit: PAGE_SIZE + 1 });
    const { page, last } = cutPage(turns, PAGE_SIZE);
    if (page.length > 0) {
      const turnsToSend = page.map(({ isInOutbox: _, isMonthClosed: __, ...turn }) => turn);
      await llm.fillCallLog({ turns: turnsToSend }, LLM_CALL_OPTIONS);
    }
    return {
      repairs: [],
      checked: page.length,
      next: turnPageTokens.format(last && { ...last, at: last.closedAt }),
      until: last?.closedAt ?? until,
    };
  };
}

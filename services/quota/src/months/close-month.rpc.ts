import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CloseMonthRequest, CloseMonthResponseSchema } from "@parley/rpc/quota";
import { type Database, type Logger, ServiceError } from "@parley/service-kit";
import { type CloseRefusal, closeMonth } from "./months.store.ts";

const REASONS: Readonly<Record<CloseRefusal, string>> = {
  month_not_ended:
    "a day has not passed since the month's end, or a minute has not passed since the quota service first listed the month",
  month_has_holds: "messages of the month are held",
  month_changed: "the month's usage differs from the request's `used`",
};

export async function handleCloseMonth(
  { database, log }: { database: Database; log: Pick<Logger, "info"> },
  request: CloseMonthRequest,
): Promise<MessageInitShape<typeof CloseMonthResponseSchema>> {
  const { month, used } = request;
  const refusal = await closeMonth(database, month, Number(used));
  if (refusal !== undefined) throw new ServiceError("failed_precondition", refusal, REASONS[refusal]);
  log.info({ month, used: Number(used) }, "month closed");
  return {};
}

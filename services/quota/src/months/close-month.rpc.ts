import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CloseMonthRequest, CloseMonthResponseSchema } from "@parley/rpc/quota";
import { type Database, invalidArgument, type Logger, parseMonth, ServiceError } from "@parley/service-kit";
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
  const month = parseMonth(request.month);
  if (month === undefined) throw invalidArgument("month is missing");
  const refusal = await closeMonth(database, month, Number(request.used));
  if (refusal !== undefined) throw new ServiceError("failed_precondition", refusal, REASONS[refusal]);
  log.info({ month, used: Number(request.used) }, "month closed");
  return {};
}

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ResolveBotRequest, ResolveBotResponseSchema } from "@parley/rpc/conversation";
import type { Database } from "@parley/service-kit";
import { requireBotId } from "./require-bot.service.ts";

export async function handleResolveBot(
  database: Database,
  request: ResolveBotRequest,
): Promise<MessageInitShape<typeof ResolveBotResponseSchema>> {
  return { botId: await requireBotId(database, request) };
}

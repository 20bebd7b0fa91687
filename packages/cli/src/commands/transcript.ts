import { once } from "node:events";
import type { JsonValue } from "@bufbuild/protobuf";
import { SessionAdminService } from "@parley/rpc/conversation";
import type { Admin } from "../admin/call.ts";
import { printable, printableLines } from "../output/printable.ts";
import type { Result } from "../output/result.ts";
import { fields } from "../output/table.ts";

type Request = { workspaceId: string; sessionId: string };

/** What is read of an export document (contract, 2.3 and 2.4). */
type Transcript = {
  session: { id: string; bot_slug: string; source: string; visitor_id: string; started_at: string };
  messages: { role: string; content: string; model: string; status: string; rating: string; created_at: string }[];
};

/** Writes the export document as it comes, however long it is. */
export async function copyTranscript(admin: Admin, request: Request, to: NodeJS.WritableStream): Promise<void> {
  await admin(SessionAdminService, async (service) => {
    for await (const { json } of service.getTranscript(request)) {
      if (!to.write(json)) await once(to, "drain");
    }
  });
  to.write("\n");
}

/** The conversation for people to read; the export document for scripts. */
export async function showTranscript(admin: Admin, request: Request): Promise<Result> {
  const document = await admin(SessionAdminService, async (service) => {
    const pieces: Uint8Array[] = [];
    for await (const { json } of service.getTranscript(request)) pieces.push(json);
    return JSON.parse(Buffer.concat(pieces).toString("utf8")) as JsonValue;
  });
  const { session, messages } = document as Transcript;
  const head = fields([
    ["conversation", session.id],
    ["bot", session.bot_slug],
    ["source", session.source],
    ["visitor", session.visitor_id],
    ["started", session.started_at],
  ]);
  return { json: document, text: [head, ...messages.map(describe)].join("\n") };
}

function describe({ role, content, model, status, rating, created_at }: Transcript["messages"][number]): string {
  const notes = [created_at, model, status === "done" ? "" : status, rating && `rated ${rating}`].filter(Boolean);
  return `${printable(role)}  ${notes.map(printable).join("  ")}\n${printableLines(content)}\n`;
}

import { once } from "node:events";
import type { JsonValue } from "@bufbuild/protobuf";
import { SessionAdminService } from "@parley/rpc/conversation";
import type { Admin } from "../admin/call.ts";
import { printable, printableLines } from "../output/printable.ts";
import type { Result } from "../output/result.ts";
import { fields } from "../output/table.ts";

type Request = { workspaceId: string; sessionId: string };

/** The fields that showTranscript reads from the export document (docs/api.md). */
type Transcript = {
  session: { id: string; bot_slug: string; source: string; visitor_id: string; started_at: string };
  messages: { role: string; content: string; model: string; status: string; rating: string; created_at: string }[];
};

/** Streams the export document to `to`. */
export async function copyTranscript(admin: Admin, request: Request, to: NodeJS.WritableStream): Promise<void> {
  await admin(SessionAdminService, async (service) => {
    for await (const { json } of service.getTranscript(request)) {
      if (!to.write(json)) await once(to, "drain");
    }
  });
  to.write("\n");
}

/** Returns the session as text, and the export document as JSON. */
export async function showTranscript(admin: Admin, request: Request): Promise<Result> {
  const document = await admin(SessionAdminService, async (service) => {
    const parts: Uint8Array[] = [];
    for await (const { json } of service.getTranscript(request)) parts.push(json);
    return JSON.parse(Buffer.concat(parts).toString("utf8")) as JsonValue;
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

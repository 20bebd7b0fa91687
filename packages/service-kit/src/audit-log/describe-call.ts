import type { DescMessage, DescMethod, Message } from "@bufbuild/protobuf";
import type { AuditLogEntry } from "./audit-log.store.ts";

/** Ids, names and settings. Other fields may hold content, which the audit log must not contain. */
const COPIED_FIELDS = new Set([
  ...[
    "slug",
    "new_slug",
    "bot_slug",
    "public_key",
    "kid",
    "algorithm",
    "session_id",
    "message_id",
    "id",
    "name",
    "new_name",
    "plan",
    "retention_minutes",
  ],
  ...["month", "amount", "operator", "messages", "expires_at", "credit_id", "overage"],
]);
const MAX_VALUE_CHARACTERS = 200;

type Fields = Readonly<Record<string, unknown>>;
type TypedMessage = { desc: DescMessage; message: Message };

/** Returns the audit log's entry for a successful call. `member` is undefined if the operator called. */
export function describeCall(
  method: DescMethod,
  member: string | undefined,
  request: Message,
  response: Message,
): AuditLogEntry {
  const typedRequest = { desc: method.input, message: request };
  const responseMessages = nestedMessages(method.output, response);
  return {
    workspaceId: findWorkspaceId(request, responseMessages),
    member,
    method: `${method.parent.name}/${method.name}`,
    // The request's values take precedence.
    target: Object.assign({}, ...responseMessages.toReversed().map(copyFields), copyFields(typedRequest)),
    // Names of the fields that are set in a nested message of the request, such as BotChanges.
    changedFields: nestedMessages(method.input, request).flatMap(({ desc, message }) =>
      desc.fields
        .filter(({ localName }) => (message as unknown as Fields)[localName] !== undefined)
        .map(({ name }) => name),
    ),
  };
}

/** Skips unset and repeated fields. */
function nestedMessages(desc: DescMessage, message: Message): TypedMessage[] {
  return desc.fields.flatMap((field) => {
    const value = (message as unknown as Fields)[field.localName] as Message | undefined;
    return field.fieldKind === "message" && value !== undefined ? [{ desc: field.message, message: value }] : [];
  });
}

function copyFields({ desc, message }: TypedMessage): Record<string, string> {
  const values = desc.fields
    .filter(({ name, fieldKind }) => fieldKind === "scalar" && COPIED_FIELDS.has(name))
    .map(({ name, localName }) => [name, String((message as unknown as Fields)[localName] ?? "")] as const)
    .filter(([, value]) => value !== "");
  return Object.fromEntries(values.map(([name, value]) => [name, toStorable(value)]));
}

/** Shortens a text, then replaces what jsonb cannot store: NUL, and half of a surrogate pair that the cut split. */
function toStorable(value: string): string {
  return value.slice(0, MAX_VALUE_CHARACTERS).toWellFormed().replaceAll("\0", "\uFFFD");
}

/**
 * Returns the workspace_id of the request or, if the request has none, of a message in the response, such as the revoked key. If no message has a
 * workspace_id, returns the id of the created workspace, or "" if the call created none.
 */
function findWorkspaceId(request: Message, responseMessages: readonly TypedMessage[]): string {
  for (const message of [request, ...responseMessages.map((each) => each.message)]) {
    const { workspaceId } = message as unknown as Fields;
    if (typeof workspaceId === "string" && workspaceId !== "") return workspaceId;
  }
  const created = responseMessages.find(({ desc }) => desc.name === "Workspace")?.message as unknown as
    | Fields
    | undefined;
  return typeof created?.id === "string" ? created.id : "";
}

import { ToolAdminService } from "@parley/rpc/conversation";
import type { Tool, ToolDescription } from "@parley/rpc/llm";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { tools as toolsClient } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { toolChecksQuery, toolsQuery } from "../api/queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { BotScreen, useBotSlug } from "../components/bot-screen.tsx";
import { Button } from "../components/button.tsx";
import { Confirm } from "../components/dialogs.tsx";
import { focusNeighbour } from "../components/focus-neighbour.ts";
import { Icon } from "../components/icon.tsx";
import { Empty, Failure, Loading } from "../components/states.tsx";
import { T, t } from "../i18n/t.tsx";
import { type EditableTool, EditTool, toEditable } from "../tools/edit-tool.tsx";
import "../tools/tools.css";

export function Tools() {
  const { workspace_id: workspaceId } = useSession();
  // Loads the tools without waiting for the list of bots, so that the two requests run in parallel.
  useQuery(toolsQuery(workspaceId, useBotSlug()));
  return (
    <BotScreen title={t("Tools")} intro={t("What the bot may look up or do while it answers.")} path="/tools">
      {({ slug }) => <ToolList key={slug} botSlug={slug} />}
    </BotScreen>
  );
}

function ToolList({ botSlug }: { botSlug: string }) {
  const { workspace_id: workspaceId } = useSession();
  const { data, error, refetch } = useQuery(toolsQuery(workspaceId, botSlug));
  const [isAdding, setAdding] = useState(false);
  const mayAdd = useMayCall(ToolAdminService.method.putTool) && data?.ownersMayAdd === true;
  const hasTools = data !== undefined && data.tools.length > 0;
  const { data: checks } = useQuery({ ...toolChecksQuery(workspaceId, botSlug), enabled: hasTools });
  if (data === undefined) return error ? <Failure error={error} onRetry={refetch} /> : <Loading />;
  const addButton = mayAdd && (
    <Button className="button primary" onClick={() => setAdding(true)}>
      <Icon name="plus" />
      {t("New tool")}
    </Button>
  );
  return (
    <>
      {!hasTools && (
        <Empty icon="tool" title={t("No tool yet")} action={addButton}>
          {mayAdd ? (
            t("A tool asks an address of your shop while the bot answers, for example for the state of an order.")
          ) : (
            <T
              text="Ask the operator to run {command} for the bot {bot} of the workspace {workspace}."
              command={<code>parley tool add</code>}
              bot={<code>{botSlug}</code>}
              workspace={<code>{workspaceId}</code>}
            />
          )}
        </Empty>
      )}
      {hasTools && addButton && <div className="list-actions">{addButton}</div>}
      {hasTools && (
        <ul className="rows panel flush" aria-label={t("Tools")}>
          {data.tools.map((tool) => (
            <ToolRow
              key={tool.name}
              tool={tool}
              editable={mayAdd ? toEditable(tool) : undefined}
              check={checks?.find(({ name }) => name === tool.name)}
              botSlug={botSlug}
            />
          ))}
        </ul>
      )}
      {hasTools && (
        <p className="hint">{t("Only the operator adds tools that use secrets or servers of tools (MCP).")}</p>
      )}
      {isAdding && <EditTool botSlug={botSlug} onClose={() => setAdding(false)} />}
    </>
  );
}

type ToolRowProps = {
  tool: Tool;
  /** The tool, if the member may change it with the form. */
  editable: EditableTool | undefined;
  /** Undefined until the check has ended. */
  check: ToolDescription | undefined;
  botSlug: string;
};

function ToolRow({ tool, editable, check, botSlug }: ToolRowProps) {
  const { workspace_id: workspaceId } = useSession();
  const mayRemove = useMayCall(ToolAdminService.method.removeTool);
  const [isConfirmOpen, setConfirmOpen] = useState(false);
  const [isEditing, setEditing] = useState(false);
  const row = useRef<HTMLLIElement>(null);
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const removal = useMutation({
    mutationFn: () => toolsClient.removeTool({ workspaceId, botSlug, name: tool.name }),
    onSuccess: async () => {
      focusNeighbour(row.current);
      announce(t("The tool was removed. The bot stops using it within seconds."));
      await queryClient.invalidateQueries(toolsQuery(workspaceId, botSlug));
    },
    onError: (error) => announce(errorText(error), { isError: true }),
  });
  const { address, description } = describeTool(tool);
  return (
    <li ref={row} className="row">
      <span className="row-icon">
        <Icon name="tool" />
      </span>
      <span className="row-text">
        <span className="row-title">
          <strong>{tool.name}</strong>
          <span className="badge neutral">{tool.byOwner ? t("Added by an owner") : t("Approved by the operator")}</span>
        </span>
        <code>{address}</code>
        <small>{description}</small>
        {tool.secret !== "" && <small>{t("Signs in with the secret “{secret}”", { secret: tool.secret })}</small>}
        {check !== undefined && <Problems check={check} />}
      </span>
      {editable && (
        <Button
          className="button small"
          aria-label={t("Edit {name}", { name: tool.name })}
          onClick={() => setEditing(true)}
        >
          {t("Edit")}
        </Button>
      )}
      {isEditing && editable && <EditTool botSlug={botSlug} tool={editable} onClose={() => setEditing(false)} />}
      {mayRemove && (
        <Button
          className="icon-button"
          aria-label={t("Remove {name}", { name: tool.name })}
          isDisabled={removal.isPending}
          onClick={() => setConfirmOpen(true)}
        >
          <Icon name="trash" />
        </Button>
      )}
      <Confirm
        title={t("Remove the tool?")}
        text={describeRemoval(tool)}
        action={t("Remove")}
        isOpen={isConfirmOpen}
        onOpenChange={setConfirmOpen}
        onConfirm={() => removal.mutate()}
      />
    </li>
  );
}

/** The reasons why the bot does not use the tool or some of its functions. */
function Problems({ check: { functions, omitted, failure } }: { check: ToolDescription }) {
  return (
    <>
      {failure !== "" && (
        <small className="error-text">
          {functions.length === 0
            ? t("The bot answers without this tool: {reason}", { reason: failure })
            : t("The tool's list may be out of date: {reason}", { reason: failure })}
        </small>
      )}
      {omitted.map(({ name, reason }) => (
        <small className="error-text" key={`${name} ${reason}`}>
          {name === "" ? (
            t("The bot does not use a function: {reason}", { reason })
          ) : (
            <T text="The bot does not use {name}: {reason}" name={<code>{name}</code>} reason={reason} />
          )}
        </small>
      ))}
    </>
  );
}

function describeRemoval({ name, byOwner }: Tool): string {
  const consequence = t("The bot will no longer use “{name}”.", { name });
  return byOwner ? consequence : `${consequence} ${t("Only the operator can add it again.")}`;
}

function describeTool({ kind }: Tool): { address: string; description: string } {
  switch (kind.case) {
    case "http":
      return { address: `${kind.value.method} ${kind.value.url}`, description: kind.value.description };
    case "mcp": {
      const { url, only } = kind.value;
      const description =
        only.length === 0
          ? t("A server of tools (MCP): all its tools")
          : t("A server of tools (MCP): {names}", { names: only.join(", ") });
      return { address: url, description };
    }
    default:
      return { address: "", description: "" };
  }
}

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
import { type EditableTool, EditTool, toEditable } from "../tools/edit-tool.tsx";
import "../tools/tools.css";

export function Tools() {
  const { workspace_id: workspaceId } = useSession();
  // Loads the tools without waiting for the list of bots, so that both calls are in one batch.
  useQuery(toolsQuery(workspaceId, useBotSlug()));
  return (
    <BotScreen title="Tools" intro="What the bot may look up or do while it answers." path="/tools">
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
  // Starts after the list has arrived: a slow MCP server delays all calls of its batch.
  const { data: checks } = useQuery({ ...toolChecksQuery(workspaceId, botSlug), enabled: hasTools });
  if (data === undefined) return error ? <Failure error={error} onRetry={refetch} /> : <Loading />;
  const addButton = mayAdd && (
    <Button className="button primary" onClick={() => setAdding(true)}>
      <Icon name="plus" />
      New tool
    </Button>
  );
  return (
    <>
      {!hasTools && (
        <Empty icon="tool" title="No tool yet" action={addButton}>
          {mayAdd ? (
            "A tool asks an address of your shop while the bot answers, for example for the state of an order."
          ) : (
            <>
              Ask the operator to run <code>parley tool add</code> for the bot <code>{botSlug}</code> of the workspace{" "}
              <code>{workspaceId}</code>.
            </>
          )}
        </Empty>
      )}
      {hasTools && addButton && <div className="list-actions">{addButton}</div>}
      {hasTools && (
        <ul className="rows panel flush" aria-label="Tools">
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
      {hasTools && <p className="hint">Only the operator adds tools that use secrets or servers of tools (MCP).</p>}
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
      announce("The tool was removed. The bot stops using it within seconds.");
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
          <span className="badge neutral">{tool.byOwner ? "Added by an owner" : "Approved by the operator"}</span>
        </span>
        <code>{address}</code>
        <small>{description}</small>
        {tool.secret !== "" && <small>Signs in with the secret “{tool.secret}”</small>}
        {check !== undefined && <Problems check={check} />}
      </span>
      {editable && (
        <Button className="button small" aria-label={`Edit ${tool.name}`} onClick={() => setEditing(true)}>
          Edit
        </Button>
      )}
      {isEditing && editable && <EditTool botSlug={botSlug} tool={editable} onClose={() => setEditing(false)} />}
      {mayRemove && (
        <Button
          className="icon-button"
          aria-label={`Remove ${tool.name}`}
          isDisabled={removal.isPending}
          onClick={() => setConfirmOpen(true)}
        >
          <Icon name="trash" />
        </Button>
      )}
      <Confirm
        title="Remove the tool?"
        text={`The bot will no longer use “${tool.name}”.${tool.byOwner ? "" : " Only the operator can add it again."}`}
        action="Remove"
        isOpen={isConfirmOpen}
        onOpenChange={setConfirmOpen}
        onConfirm={() => removal.mutate()}
      />
    </li>
  );
}

/** The reasons why the bot does not use the tool or some of its functions. */
function Problems({ check: { functions, omitted, failure } }: { check: ToolDescription }) {
  const withoutTool =
    functions.length === 0 ? "The bot answers without this tool" : "The tool's list may be out of date";
  return (
    <>
      {failure !== "" && (
        <small className="error-text">
          {withoutTool}: {failure}
        </small>
      )}
      {omitted.map(({ name, reason }) => (
        <small className="error-text" key={`${name} ${reason}`}>
          The bot does not use {name === "" ? "a function" : <code>{name}</code>}: {reason}
        </small>
      ))}
    </>
  );
}

function describeTool({ kind }: Tool): { address: string; description: string } {
  switch (kind.case) {
    case "http":
      return { address: `${kind.value.method} ${kind.value.url}`, description: kind.value.description };
    case "mcp": {
      const { url, only } = kind.value;
      const which = only.length === 0 ? "all its tools" : only.join(", ");
      return { address: url, description: `A server of tools (MCP): ${which}` };
    }
    default:
      return { address: "", description: "" };
  }
}

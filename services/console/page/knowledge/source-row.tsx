import { KnowledgeAdminService, type Source } from "@parley/rpc/conversation";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { knowledge } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { sourcesQuery } from "../api/queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { formatDateTime } from "../components/dates.ts";
import { Confirm } from "../components/dialogs.tsx";
import { focusNeighbour } from "../components/focus-neighbour.ts";
import { Icon } from "../components/icon.tsx";

type SourceRowProps = { source: Source; botSlug: string; hasEmbeddings: boolean };

export function SourceRow({ source, botSlug, hasEmbeddings }: SourceRowProps) {
  const { workspace_id: workspaceId } = useSession();
  const mayRemove = useMayCall(KnowledgeAdminService.method.removeSource);
  const [isConfirmOpen, setConfirmOpen] = useState(false);
  const row = useRef<HTMLLIElement>(null);
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const removal = useMutation({
    mutationFn: () => knowledge.removeSource({ workspaceId, botSlug, name: source.name }),
    onSuccess: async () => {
      focusNeighbour(row.current);
      announce("The document was removed.");
      await queryClient.invalidateQueries(sourcesQuery(workspaceId, botSlug));
    },
    onError: (error) => announce(errorText(error), { isError: true }),
  });
  const facts = [
    source.format.toUpperCase(),
    `${source.characters.toLocaleString()} characters`,
    hasEmbeddings && source.embedded < source.chunks
      ? `${source.embedded} of ${source.chunks} passages indexed`
      : undefined,
    formatDateTime(source.updatedAt),
  ];
  return (
    <li ref={row} className="row">
      <span className="row-icon">
        <Icon name={source.url === "" ? "file" : "link"} />
      </span>
      <span className="row-text">
        <strong>{source.name}</strong>
        <small>{facts.filter(Boolean).join(" · ")}</small>
      </span>
      {mayRemove && (
        <button
          type="button"
          className="icon-button"
          aria-label={`Remove ${source.name}`}
          disabled={removal.isPending}
          onClick={() => setConfirmOpen(true)}
        >
          <Icon name="trash" />
        </button>
      )}
      <Confirm
        title="Remove the document?"
        text={`The bot will no longer answer from “${source.name}”.`}
        action="Remove"
        isOpen={isConfirmOpen}
        onOpenChange={setConfirmOpen}
        onConfirm={() => removal.mutate()}
      />
    </li>
  );
}

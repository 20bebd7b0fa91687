import { KnowledgeAdminService, type Source } from "@parley/rpc/conversation";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { knowledge } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { sourcesKey } from "../api/source-queries.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Confirm } from "../components/dialogs.tsx";
import { FactLine } from "../components/facts.tsx";
import { focusNeighbour } from "../components/focus-neighbour.ts";
import { Icon } from "../components/icon.tsx";
import { t } from "../i18n/t.tsx";
import { listSourceFacts } from "./source-facts.ts";

type SourceRowProps = {
  source: Source;
  botSlug: string;
  hasEmbeddings: boolean;
  isSelected: boolean;
  /** Absent if the owner cannot select documents. */
  onSelect?: ((isSelected: boolean) => void) | undefined;
};

export function SourceRow({ source, botSlug, hasEmbeddings, isSelected, onSelect }: SourceRowProps) {
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
      announce(t("The document was removed."));
      await queryClient.invalidateQueries({ queryKey: sourcesKey(workspaceId, botSlug) });
    },
    onError: (error) => announce(errorText(error), { isError: true }),
  });
  return (
    <li ref={row} className="row">
      {onSelect && (
        <input
          type="checkbox"
          className="checkbox"
          aria-label={t("Select {name}", { name: source.name })}
          checked={isSelected}
          onChange={({ target }) => onSelect(target.checked)}
        />
      )}
      <span className="row-icon">
        <Icon name={source.url === "" ? "file" : "link"} />
      </span>
      <span className="row-text">
        <strong>
          <Link to="/knowledge/document" search={{ bot: botSlug, name: source.name }}>
            <bdi>{source.name}</bdi>
          </Link>
        </strong>
        <small>
          <FactLine facts={listSourceFacts(source, hasEmbeddings)} />
        </small>
      </span>
      {mayRemove && (
        <button
          type="button"
          className="icon-button"
          aria-label={t("Remove {name}", { name: source.name })}
          disabled={removal.isPending}
          onClick={() => setConfirmOpen(true)}
        >
          <Icon name="trash" />
        </button>
      )}
      <Confirm
        title={t("Remove the document?")}
        text={t("The bot will no longer answer from “{name}”.", { name: source.name })}
        action={t("Remove")}
        isOpen={isConfirmOpen}
        onOpenChange={setConfirmOpen}
        onConfirm={() => removal.mutate()}
      />
    </li>
  );
}

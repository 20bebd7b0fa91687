import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { knowledge } from "../api/clients.ts";
import { errorText, parleyCodeOf } from "../api/error-text.ts";
import { useSession } from "../api/session.ts";
import { sourcesKey } from "../api/source-queries.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Confirm } from "../components/dialogs.tsx";
import { Icon } from "../components/icon.tsx";

/** One batch of calls. */
const REMOVED_AT_ONCE = 20;
const MAX_LISTED_NAMES = 5;

type RemoveSelectedProps = { botSlug: string; names: readonly string[]; onRemoved: () => void };

/** Removes documents after one confirmation. */
export function RemoveSelected({ botSlug, names, onRemoved }: RemoveSelectedProps) {
  const { workspace_id: workspaceId } = useSession();
  const [isConfirmOpen, setConfirmOpen] = useState(false);
  const [removed, setRemoved] = useState(0);
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const remove = async (name: string): Promise<unknown> => {
    try {
      await knowledge.removeSource({ workspaceId, botSlug, name });
      return undefined;
    } catch (error) {
      return parleyCodeOf(error) === "source_not_found" ? undefined : error;
    } finally {
      setRemoved((before) => before + 1);
    }
  };
  const removal = useMutation({
    /** Returns the errors of the documents that were not removed. */
    mutationFn: async (chosen: readonly string[]) => {
      const errors: unknown[] = [];
      for (let start = 0; start < chosen.length; start += REMOVED_AT_ONCE) {
        const outcomes = await Promise.all(chosen.slice(start, start + REMOVED_AT_ONCE).map(remove));
        errors.push(...outcomes.filter((error) => error !== undefined));
      }
      return errors;
    },
    onMutate: () => setRemoved(0),
    onSuccess: async ([error, ...others], chosen) => {
      const count = chosen.length - others.length - (error === undefined ? 0 : 1);
      const text = count === 1 ? "1 document was removed." : `${count.toLocaleString()} documents were removed.`;
      if (error === undefined) announce(text);
      else announce(`${text} ${others.length + 1} could not be removed: ${errorText(error)}`, { isError: true });
      onRemoved();
      await queryClient.invalidateQueries({ queryKey: sourcesKey(workspaceId, botSlug) });
    },
  });
  if (names.length === 0 && !removal.isPending) return null;
  const label = names.length === 1 ? "Remove 1 document" : `Remove ${names.length.toLocaleString()} documents`;
  return (
    <>
      {/* Not disabled during the removal: a disabled button would lose the focus. */}
      <button
        type="button"
        className="button small"
        aria-disabled={removal.isPending || undefined}
        onClick={() => !removal.isPending && setConfirmOpen(true)}
      >
        <Icon name="trash" />
        {removal.isPending ? `Removing ${removed} of ${removal.variables?.length}…` : label}
      </button>
      <Confirm
        title={names.length === 1 ? "Remove the document?" : `Remove ${names.length.toLocaleString()} documents?`}
        text={`The bot will no longer answer from ${listNames(names)}. This cannot be undone.`}
        action="Remove"
        isOpen={isConfirmOpen}
        onOpenChange={setConfirmOpen}
        onConfirm={() => removal.mutate(names)}
      />
    </>
  );
}

function listNames(names: readonly string[]): string {
  const listed = names.slice(0, MAX_LISTED_NAMES).map((name) => `“${name}”`);
  const others = names.length - listed.length;
  if (others > 0) listed.push(others === 1 ? "one other" : `${others.toLocaleString()} others`);
  return new Intl.ListFormat("en").format(listed);
}

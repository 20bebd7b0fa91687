import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { knowledge } from "../api/clients.ts";
import { errorText, parleyCodeOf } from "../api/error-text.ts";
import { useSession } from "../api/session.ts";
import { sourcesKey } from "../api/source-queries.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Confirm } from "../components/dialogs.tsx";
import { Icon } from "../components/icon.tsx";
import { getLocale } from "../i18n/language.ts";
import { plural, t } from "../i18n/t.tsx";

/** The progress is shown after each group. */
const REMOVED_AT_ONCE = 20;
const MAX_LISTED_NAMES = 5;
const LIST = new Intl.ListFormat(getLocale());

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
      const text = plural(count, "{count} document was removed.", "{count} documents were removed.");
      if (error === undefined) announce(text);
      else announce(`${text} ${describeFailures(others.length + 1, errorText(error))}`, { isError: true });
      onRemoved();
      await queryClient.invalidateQueries({ queryKey: sourcesKey(workspaceId, botSlug) });
    },
  });
  if (names.length === 0 && !removal.isPending) return null;
  const total = removal.variables?.length ?? 0;
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
        {removal.isPending
          ? t("Removing {part} of {total}…", { part: removed, total })
          : plural(names.length, "Remove {count} document", "Remove {count} documents")}
      </button>
      <Confirm
        title={
          names.length === 1
            ? t("Remove the document?")
            : plural(names.length, "Remove {count} document?", "Remove {count} documents?")
        }
        text={t("The bot will no longer answer from {names}. This cannot be undone.", { names: listNames(names) })}
        action={t("Remove")}
        isOpen={isConfirmOpen}
        onOpenChange={setConfirmOpen}
        onConfirm={() => removal.mutate(names)}
      />
    </>
  );
}

function describeFailures(count: number, problem: string): string {
  return plural(count, "{count} could not be removed: {problem}", "{count} could not be removed: {problem}", {
    problem,
  });
}

function listNames(names: readonly string[]): string {
  const listed = names.slice(0, MAX_LISTED_NAMES).map((name) => t("“{name}”", { name }));
  const others = names.length - listed.length;
  if (others > 0) listed.push(plural(others, "one other", "{count} others"));
  return LIST.format(listed);
}

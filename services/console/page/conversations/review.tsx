import { useMutation, useQueryClient } from "@tanstack/react-query";
import { sessions } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Icon } from "../components/icon.tsx";
import { t } from "../i18n/t.tsx";

const REVIEWS = [
  { review: "good", icon: "thumbUp", label: t("Good"), name: t("Good answer"), announcement: t("Reviewed as good.") },
  { review: "bad", icon: "thumbDown", label: t("Bad"), name: t("Bad answer"), announcement: t("Reviewed as bad.") },
] as const;

type ReviewProps = { sessionId: string; messageId: bigint; review: string };

/** The owner's review of a reply. Pressing the chosen button again removes the review. */
export function Review({ sessionId, messageId, review }: ReviewProps) {
  const { workspace_id: workspaceId } = useSession();
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const reviewing = useMutation({
    // One review after the other: of two requests at once, the older one could arrive last.
    scope: { id: `review ${messageId}` },
    mutationFn: (chosen: string) => sessions.reviewMessage({ workspaceId, sessionId, messageId, review: chosen }),
    onSuccess: async (_, chosen) => {
      announce(REVIEWS.find((each) => each.review === chosen)?.announcement ?? t("The review was removed."));
      await Promise.all([
        queryClient.invalidateQueries({ queryKey: ["conversation", workspaceId, sessionId] }),
        queryClient.invalidateQueries({ queryKey: ["conversations", workspaceId] }),
      ]);
    },
    onError: (error) => announce(errorText(error), { isError: true }),
  });
  const shown = reviewing.isPending ? reviewing.variables : review;
  return (
    <fieldset className="review">
      <legend className="visually-hidden">{t("Your review")}</legend>
      <span aria-hidden="true">{t("Your review")}</span>
      {REVIEWS.map(({ review: each, icon, label, name }) => (
        <button
          key={each}
          type="button"
          className={`button small ${each}`}
          aria-label={name}
          aria-pressed={shown === each}
          onClick={() => reviewing.mutate(shown === each ? "" : each)}
        >
          <Icon name={icon} />
          {label}
        </button>
      ))}
    </fieldset>
  );
}

const BADGE_TEXTS: Readonly<Record<string, string>> = { good: t("Reviewed as good"), bad: t("Reviewed as bad") };

/** The review of a reply or of a conversation. A conversation counts as bad if one of its replies was reviewed as bad. */
export function ReviewBadge({ review }: { review: string }) {
  const text = BADGE_TEXTS[review];
  return text === undefined ? null : <span className={review === "bad" ? "badge" : "badge neutral"}>{text}</span>;
}

import type { SessionDetails, SessionSummary } from "@parley/rpc/conversation";
import { t } from "../i18n/t.tsx";

type Session = Pick<SessionDetails | SessionSummary, "source" | "visitorId" | "visitorVerified">;

/** Whether there is an id of a visitor. In the playground, the id is that of the member who asks. */
const hasVisitorId = ({ source, visitorId }: Session) => visitorId !== "" && source !== "playground";

/** Marks a conversation's visitor as verified or claimed. Shows nothing if the conversation has no visitor's id. */
export function VisitorBadge({ session }: { session: Session }) {
  if (!hasVisitorId(session)) return null;
  return (
    <span className="badge neutral">{session.visitorVerified ? t("Verified visitor") : t("Claimed visitor")}</span>
  );
}

/** Returns a sentence about who vouches for the visitor's id; undefined if the conversation has none. */
export function describeVerification(session: Session): string | undefined {
  if (!hasVisitorId(session)) return undefined;
  return session.visitorVerified
    ? t("Verified visitor: your backend signed this id.")
    : t("Claimed visitor: the page sent this id, and nobody verified it.");
}

import { Icon } from "../components/icon.tsx";
import { t } from "../i18n/t.tsx";

const RATINGS = {
  up: { icon: "thumbUp", text: t("Rated good") },
  down: { icon: "thumbDown", text: t("Rated bad") },
} as const;

/** The visitor's rating; nothing if there is none. */
export function Rating({ rating }: { rating: string }) {
  if (rating !== "up" && rating !== "down") return null;
  const { icon, text } = RATINGS[rating];
  return (
    <span className={`rating ${rating}`}>
      <Icon name={icon} />
      {text}
    </span>
  );
}

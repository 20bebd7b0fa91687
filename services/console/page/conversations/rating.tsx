import { Icon } from "../components/icon.tsx";

const TEXTS = { up: "Rated good", down: "Rated bad" } as const;

/** The visitor's rating; nothing if there is none. */
export function Rating({ rating }: { rating: string }) {
  if (rating !== "up" && rating !== "down") return null;
  return (
    <span className={`rating ${rating}`}>
      <Icon name={rating} />
      {TEXTS[rating]}
    </span>
  );
}

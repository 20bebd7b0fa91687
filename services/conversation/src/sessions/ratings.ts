import { invalidArgument, isLongerThan } from "@parley/service-kit";

const RATINGS = ["", "up", "down"];
const MAX_REASON_CHARACTERS = 1_000;
const REVIEWS = ["", "good", "bad"];

/** Throws invalid_argument unless the text is a visitor's rating or empty. */
export function requireRating(rating: string): void {
  if (!RATINGS.includes(rating)) throw invalidArgument("rating must be up, down or empty");
}

/** Throws invalid_argument if the reason of a rating is too long, or if there is a reason but no rating. */
export function requireReason(rating: string, reason: string): void {
  if (isLongerThan(reason, MAX_REASON_CHARACTERS) || (reason !== "" && rating === ""))
    throw invalidArgument("reason must have at most 1,000 characters, and needs a rating");
}

/** Throws invalid_argument unless the text is an owner's review or empty. */
export function requireReview(review: string): void {
  if (!REVIEWS.includes(review)) throw invalidArgument("review must be good, bad or empty");
}

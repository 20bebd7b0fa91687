import { invalidArgument } from "@parley/service-kit";

const RATINGS = ["", "up", "down"];
const REVIEWS = ["", "good", "bad"];

/** Throws invalid_argument unless the text is a visitor's rating or empty. */
export function requireRating(rating: string): void {
  if (!RATINGS.includes(rating)) throw invalidArgument("rating must be up, down or empty");
}

/** Throws invalid_argument unless the text is an owner's review or empty. */
export function requireReview(review: string): void {
  if (!REVIEWS.includes(review)) throw invalidArgument("review must be good, bad or empty");
}

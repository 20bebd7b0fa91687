export {
  CHALLENGE,
  type ChallengeDeps,
  ChallengePass,
  type ChallengeSetting,
  requirePass,
} from "./require-pass.ts";

import { getRouteApi } from "@tanstack/react-router";
import { useEffect } from "react";
import { Icon } from "../components/icon.tsx";

const PROBLEMS: Readonly<Record<string, string>> = {
  sign_in_unavailable: "The identity provider does not answer. Try again in a minute.",
  sign_in_refused: "The identity provider refused the sign-in. Try again, or ask your administrator for access.",
  sign_in_expired: "The sign-in took too long. Try again.",
  session_too_large:
    "Your sign-in contains too much data. Ask your administrator to issue smaller access tokens, for example without groups.",
  token_not_jwt:
    "The identity provider issued an access token that Parley cannot read. Ask your administrator to set OIDC_SCOPE or OIDC_RESOURCE.",
  wrong_audience:
    "The identity provider issued a token for another application. Ask your administrator to set OIDC_RESOURCE and JWT_AUDIENCE.",
  no_workspace: "Your account belongs to no workspace. Ask your administrator to add you to one.",
};
const OTHER_PROBLEM = "The sign-in failed. Try again in a minute.";

const route = getRouteApi("/sign-in");

export function SignIn() {
  const { error, return_to, signed_out } = route.useSearch();
  useEffect(() => {
    document.title = "Sign in · Parley";
  }, []);
  const target = return_to === undefined ? "/auth/sign-in" : `/auth/sign-in?return_to=${encodeURIComponent(return_to)}`;
  return (
    <main className="sign-in">
      <div className="sign-in-card">
        <span className="brand-mark large" aria-hidden="true">
          <Icon name="chat" />
        </span>
        <h1>Sign in to Parley</h1>
        <p>Manage your bots, their knowledge and the sites where they answer.</p>
        {error && (
          <div className="notice error" role="alert">
            <Icon name="alert" />
            <p>{Object.hasOwn(PROBLEMS, error) ? PROBLEMS[error] : OTHER_PROBLEM}</p>
          </div>
        )}
        {signed_out && !error && (
          <div className="notice" role="status">
            <Icon name="check" />
            <p>You are signed out.</p>
          </div>
        )}
        <a className="button primary large" href={target}>
          Sign in
        </a>
      </div>
    </main>
  );
}

import { getRouteApi } from "@tanstack/react-router";
import { useEffect } from "react";
import { Icon } from "../components/icon.tsx";
import { t } from "../i18n/t.tsx";

const PROBLEMS: Readonly<Record<string, string>> = {
  sign_in_unavailable: t("The identity provider does not answer. Try again in a minute."),
  sign_in_refused: t("The identity provider refused the sign-in. Try again, or ask your administrator for access."),
  sign_in_expired: t("The sign-in took too long. Try again."),
  session_too_large: t(
    "Your sign-in contains too much data. Ask your administrator to issue smaller access tokens, for example without groups.",
  ),
  token_not_jwt: t(
    "The identity provider issued an access token that Parley cannot read. Ask your administrator to set OIDC_SCOPE or OIDC_RESOURCE.",
  ),
  wrong_audience: t(
    "The identity provider issued a token for another application. Ask your administrator to set OIDC_RESOURCE and JWT_AUDIENCE.",
  ),
  no_workspace: t("Your account belongs to no workspace. Ask your administrator to add you to one."),
};
const OTHER_PROBLEM = t("The sign-in failed. Try again in a minute.");

const route = getRouteApi("/sign-in");

export function SignIn() {
  const { error, return_to, signed_out } = route.useSearch();
  useEffect(() => {
    document.title = `${t("Sign in")} · Parley`;
  }, []);
  const target = return_to === undefined ? "/auth/sign-in" : `/auth/sign-in?return_to=${encodeURIComponent(return_to)}`;
  return (
    <main className="sign-in">
      <div className="sign-in-card">
        <span className="brand-mark large" aria-hidden="true">
          <Icon name="chat" />
        </span>
        <h1>{t("Sign in to Parley")}</h1>
        <p>{t("Manage your bots, their knowledge and the sites where they answer.")}</p>
        {error && (
          <div className="notice error" role="alert">
            <Icon name="alert" />
            <p>{Object.hasOwn(PROBLEMS, error) ? PROBLEMS[error] : OTHER_PROBLEM}</p>
          </div>
        )}
        {signed_out && !error && (
          <div className="notice" role="status">
            <Icon name="check" />
            <p>{t("You are signed out.")}</p>
          </div>
        )}
        <a className="button primary large" href={target}>
          {t("Sign in")}
        </a>
      </div>
    </main>
  );
}

import type { RefObject } from "react";
import { t } from "../i18n/t.tsx";
import { Button } from "./button.tsx";

export type NextPage = {
  fetchNextPage: () => Promise<{ isError: boolean }>;
  isFetching: boolean;
};

type ShowMoreProps = NextPage & {
  /** The list that grows. After the next page is loaded, its first new item gets the focus, because the button may have disappeared. */
  list: RefObject<HTMLElement | null>;
  label?: string;
};

/** Loads the next page of a list. */
export function ShowMore({ list, fetchNextPage, isFetching, label = t("Show more") }: ShowMoreProps) {
  const click = async () => {
    const { current } = list;
    if (current === null) return;
    const shown = current.children.length;
    // React shows the new items some time after the page has been loaded.
    const observer = new MutationObserver(() => {
      if (current.children.length <= shown) return;
      observer.disconnect();
      focusItem(current.children[shown]);
    });
    observer.observe(current, { childList: true });
    const { isError } = await fetchNextPage();
    if (isError) observer.disconnect();
  };
  return (
    <Button className="button more" isDisabled={isFetching} onClick={() => void click()}>
      {isFetching ? t("Loading…") : label}
    </Button>
  );
}

function focusItem(item: Element | undefined): void {
  if (!(item instanceof HTMLElement)) return;
  const link = item.querySelector<HTMLElement>("a");
  if (link === null) item.tabIndex = -1;
  (link ?? item).focus();
}

// The dashboard asks for its inside again and again; without this it is loaded anew as a whole.
const live = document.getElementById("live");
const said = document.getElementById("said");
if (live) {
  const again = async () => {
    if (!document.hidden) {
      try {
        const answer = await fetch("/dashboard/live", { signal: AbortSignal.timeout(10000) });
        if (answer.ok) {
          live.innerHTML = await answer.text();
          const state = live.querySelector(".state");
          // Those who listen are told what has changed, not every number.
          if (state && said.textContent !== state.textContent) said.textContent = state.textContent;
        }
      } catch {
        const state = live.querySelector(".state");
        if (state) {
          state.dataset.state = "none";
          state.textContent = "The server does not answer: the crawl is over, or it was stopped";
        }
      }
    }
    setTimeout(again, Number(live.dataset.every));
  };
  setTimeout(again, Number(live.dataset.every));
}

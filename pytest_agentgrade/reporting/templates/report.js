(() => {
  const reveal = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) { target.open = true; target.scrollIntoView(); }
  };
  const buttons = document.querySelector(".buttons");
  buttons.hidden = false;
  buttons.addEventListener("click", (event) => {
    if (!(event.target instanceof HTMLButtonElement)) return;
    for (const one of document.querySelectorAll("details.attempt")) one.open = event.target.dataset.open === "yes";
  });
  addEventListener("hashchange", reveal);
  reveal();
})();

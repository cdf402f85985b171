import "@nowcast/page/element";

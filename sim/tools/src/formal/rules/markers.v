// Markers of this link by requester and source, until those of all sources are told, and how many are.
reg [16*16-1:0] weft_came# = 0;
reg [5*16-1:0] weft_told# = 0;
integer weft_m#;
always @(posedge clk) if (weft_run) begin
    if (link#_valid && link#_ready && link#_kind == 1'b1)
        weft_came#[16 * link#_requester + link#_src] <= 1'b1;
    for (weft_m# = 0; weft_m# < 16; weft_m# = weft_m# + 1)
        if (fence_valid && fence_ready && fence_requester == weft_m#) begin
            weft_told#[5 * weft_m# +: 5] <= weft_told#[5 * weft_m# +: 5] + 1;
            if (weft_told#[5 * weft_m# +: 5] == {n} - 2) begin
                weft_told#[5 * weft_m# +: 5] <= 0;
                weft_came#[16 * weft_m# +: 16] <= 0;
            end
        end
end

// Invalidations of each link that are with this bank.
reg [10*16-1:0] weft_applied# = 0;
integer weft_a#;
always @(posedge clk) if (weft_run)
    for (weft_a# = 0; weft_a# < 16; weft_a# = weft_a# + 1)
        weft_applied#[10 * weft_a# +: 10] <= weft_applied#[10 * weft_a# +: 10]
            + (bank#_valid && bank#_ready && bank#_link == weft_a#)
            - (done#_valid && done#_ready && done#_link == weft_a#);
